"""The napari plugin: clean image layers with a widget. It is asked for by ``pip install 'efmca[napari]'``.

napari finds it by ``napari.yaml`` in this folder, and imports the widget when it is opened.
"""
