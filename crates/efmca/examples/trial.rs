//! trial
use efmca::*; use efmca::family::family; use rayon::prelude::*;
fn main(){
  let args: Vec<String>=std::env::args().collect();
  let runs: u64=std::env::var("RUNS").map(|v|v.parse().unwrap()).unwrap_or(100);
  let (spec,b,bar,dark)=match args[1].as_str(){"e"=>("exponential",5,0.1,1.0),"b"=>("bernoulli",5,0.99,0.01),_=>("poisson",3,10.0,1.0)};
  let f=family(spec).unwrap();
  let truth=bars::model(f.clone(),b,&[bar],&[dark],0.2).unwrap();
  let truth = match std::env::var("GENBG") { Ok(v)=> Model::new(f.clone(), truth.pi().clone(), vec![truth.w(0)], Background::fixed(&[v.parse().unwrap()])).unwrap(), _=>truth };
  let lowest = truth.background()[0];
  let mut em=Em::new(2*b).family(f.clone()).iterations(50).tolerance(0.0).pi_init(0.3,0.3).revive(false);
  let mut samedata=false;
  for a in &args[2..]{ let (k,v)=a.split_once('=').unwrap(); let x:f64=v.parse().unwrap_or(0.0);
   em=match k{ "scale"=>em.init(Init::MeanNoise{scale:x}), "rows"=>em.init(Init::Rows{share:x}), "bg"=>em.background(match v {"learned"=>Background::Learned,"truth"=>Background::fixed(&[lowest]), v=>Background::fixed(&[v.parse().unwrap()])}),
    "starts"=>em.starts(x as usize),"short"=>em.short_iterations(x as usize),"temp"=>em.temperature(Schedule::Linear{from:x,to:1.0,until:15}),"rho"=>em.rho(Schedule::Geometric{from:x,to:40.0,until:15}),"guard"=>em.guard(true),"warm"=>em.warm_start(x as usize),"mit"=>em.m_step_iterations(x as usize),"pseudo"=>em.pseudo_count(x),"revive"=>em.revive(true),"data"=>{samedata=true;em}, "iters"=>em.iterations(x as usize),_=>panic!()};}
  let t=std::time::Instant::now();
  let r:Vec<(bool,bool,(usize,f64))>=(0..runs).into_par_iter().map(|i|{
    let y=truth.sample(1000, if samedata{1}else{1000+i}).y;
    let fit=em.clone().seed(i).fit(&y).unwrap();
    let gt=truth.log_likelihood(&y).unwrap();
    (fit.log_likelihood>gt-(0.0), bars::recovered(&truth,&fit.model), fit.dips())
  }).collect();
  println!("{:?}: above gt {}, recovered {}, runs with dips {}, largest {:.1e}; wall {:.1}",&args[1..],r.iter().filter(|r|r.0).count(),r.iter().filter(|r|r.1).count(),r.iter().filter(|r|r.2.0>0).count(),r.iter().map(|r|r.2.1).fold(0.,f64::max),t.elapsed().as_secs_f64());
}
